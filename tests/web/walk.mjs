// Walks the page as people do: signs in, looks at everything, takes a packet and gives it back, with and without scripts.
// Fails on the first thing that is not as it should be, and on any message of the browser about errors or policies.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const { BINARY, CHROMIUM, PICTURES, ROOT_TOKEN, OBSERVER_TOKEN, URL: url } = process.env;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({
  executablePath: CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
const complaints = [];
let pictures = 0;

async function newPage(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  // A status that a step asks for on purpose is no complaint; everything else is.
  page.on("console", (message) => {
    const expected = message.text().includes("status of 401") || message.text().includes("status of 403");
    if (["error", "warning"].includes(message.type()) && !expected) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("dialog", (dialog) => {
    complaints.push(`a script of stored text ran: ${dialog.message()}`);
    dialog.dismiss();
  });
  if (options.javaScriptEnabled !== false) {
    await page.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
    });
  }
  return page;
}

async function picture(page, name) {
  pictures += 1;
  await page.screenshot({ path: `${PICTURES}/${String(pictures).padStart(2, "0")}-${name}.png`, fullPage: true });
}

// What a screen reader and a keyboard need, as far as a program can tell.
async function accessible(page, name) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const told = violations.map((one) => `${one.id} (${one.impact}): ${one.nodes.map((node) => node.html).slice(0, 3).join(" ")}`);
  assert.deepEqual(told, [], `${name} is not accessible`);
}

async function fits(page, name) {
  const over = await page.evaluate(() => document.scrollingElement.scrollWidth - window.innerWidth);
  assert.ok(over <= 0, `${name} is ${over} pixels wider than the window`);
}

async function signIn(page, token) {
  await page.goto(`${url}/`);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
}

const command = (agent, ...words) => execFileSync(BINARY, words, { env: { ...process.env, AGENT_ID: agent, RUST_LOG: "off" }, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
const project = `${url}/ui/default/default`;

// The door.
const page = await newPage();
const refused = await page.goto(`${url}/`);
assert.equal(refused.status(), 401);
await accessible(page, "sign-in");
await picture(page, "sign-in");
await page.getByLabel("Token").fill("hmt_wrong");
await page.getByRole("button", { name: "Sign in" }).click();
await page.getByRole("alert").waitFor();
await signIn(page, ROOT_TOKEN);
await page.getByRole("heading", { name: "Projects" }).waitFor();
await page.getByText("3 waiting").waitFor();

// Every page, wide and narrow, light and dark.
const packet = JSON.parse(command("scout", "handoffs", "list", "--json")).packets.find((one) => one.title.startsWith("Move billing")).id;
const addresses = {
  projects: "/",
  handoffs: "/ui/default/default",
  waiting: "/ui/default/default?state=open",
  packet: `/ui/default/default/handoffs/${packet}`,
  records: "/ui/default/default/records",
  search: "/ui/default/default/records?query=rate",
  scope: "/ui/default/default/records?scope=app",
  record: "/ui/default/default/record?scope=app%2Fbilling&key=rate",
  odd: "/ui/default/default/record?scope=odd&key=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E",
  agents: "/ui/default/default/agents",
  ledger: "/ui/default/default/ledger",
  verify: "/ui/verify",
};
for (const [name, address] of Object.entries(addresses)) {
  for (const [scheme, width] of [["light", 1200], ["dark", 1200], ["light", 320]]) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 900 });
    const answer = await page.goto(url + address);
    assert.equal(answer.status(), 200, address);
    await fits(page, `${name} at ${width}`);
    await accessible(page, `${name}, ${scheme}, ${width}`);
    await picture(page, `${name}-${scheme}-${width}`);
  }
}
await page.emulateMedia({ colorScheme: "light" });
await page.setViewportSize({ width: 1200, height: 900 });

// Stored text is text.
await page.goto(project);
await page.getByText('<script>alert(3)</script> & "quotes"').waitFor();
await page.goto(url + addresses.odd);
assert.match(await page.locator("pre.value").first().innerText(), /<script>alert\(2\)<\/script> \\u\{202e\} reversed/);

// By keyboard alone: past the navigation, into a packet.
await page.goto(project);
await page.keyboard.press("Tab");
assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
await page.keyboard.press("Enter");
assert.equal(await page.evaluate(() => document.activeElement.id), "main");

// Take a packet, and give it back with a word.
await page.goto(`${project}/handoffs/${packet}`);
await page.getByText("1 stale").waitFor();
await page.getByText("now: version 2").waitFor();
await page.getByRole("button", { name: "Accept" }).click();
await page.getByText("It is yours now.").waitFor();
await page.getByText("held by ann").first().waitFor();
await picture(page, "accepted");
await page.locator("details.action summary").click();
await page.getByLabel("Note").fill("out of time\n<b>sorry</b>");
await page.getByRole("button", { name: "Release" }).click();
await page.getByText("It waits again.").waitFor();
await page.getByText("<b>sorry</b>").waitFor();
await picture(page, "released");

// What somebody else wrote is taken back only on purpose.
await page.locator("details.action summary").click();
await page.getByRole("button", { name: "Cancel" }).click();
assert.ok(page.url().includes(packet) && !page.url().includes("done=cancelled"), "the box was not ticked");
await page.getByRole("checkbox").check();
await page.getByRole("button", { name: "Cancel" }).click();
await page.getByText("It was taken back.").waitFor();

// Compare two versions.
await page.goto(url + addresses.record);
await page.getByLabel("Compare version").fill("2");
await page.getByLabel("with", { exact: true }).fill("1");
await page.getByRole("button", { name: "Compare" }).click();
await page.locator("pre.diff ins", { hasText: "0.19" }).waitFor();
await page.getByRole("img", { name: /Confidence from/ }).waitFor();

// Search finds, and says what it looked through when it does not.
await page.goto(`${project}/records`);
await page.getByRole("searchbox").fill("database");
await page.getByRole("button", { name: "Search" }).click();
await page.getByText("app/auth:decision").waitFor();
await page.getByRole("searchbox").fill("nothing of the kind");
await page.getByRole("button", { name: "Search" }).click();
await page.locator("p.empty", { hasText: "nothing of the kind" }).waitFor();

// Live: what happens elsewhere appears, and what was unfolded stays so.
await page.goto(project);
command("claude", "handoffs", "create", "--title", "Written meanwhile", "--summary", "s", "--next-steps", "n");
await page.getByText("Written meanwhile").waitFor();
// Whoever writes into a form keeps it.
await page.getByRole("link", { name: /Written meanwhile/ }).click();
await page.locator("details.action summary").click();
await page.getByLabel("Note").fill("half a sent");
command("claude", "remember", "--scope", "x", "--key", "y", "--value", "1");
await page.getByText("Something has changed").waitFor();
assert.equal(await page.getByLabel("Note").inputValue(), "half a sent");

// The proof, with how far it is.
await page.goto(`${url}/ui/verify`);
await page.getByRole("button", { name: "Prove it now" }).click();
await page.getByText(/^Intact: \d+ rows checked/).waitFor();
await picture(page, "proved");

// A form from elsewhere, or without its proof, changes nothing.
const cookie = (await page.context().cookies()).map((one) => `${one.name}=${one.value}`).join("; ");
const open = JSON.parse(command("scout", "handoffs", "list", "--json")).packets[0].id;
const post = (headers, body) => fetch(`${project}/handoffs/${open}/accept`, { method: "POST", redirect: "manual", headers: { "Content-Type": "application/x-www-form-urlencoded", Cookie: cookie, ...headers }, body });
const proof = await page.locator("form input[name=proof]").first().getAttribute("value");
assert.equal((await post({}, "")).status, 403, "without a proof");
assert.equal((await post({}, "proof=" + "0".repeat(64))).status, 403, "with another one");
assert.equal((await post({ Origin: "http://evil.example" }, `proof=${proof}`)).status, 403, "from another origin");
assert.equal((await post({ "Sec-Fetch-Site": "cross-site" }, `proof=${proof}`)).status, 403, "from another site");
assert.equal((await fetch(`${url}/workspaces`, { headers: { Cookie: cookie } })).status, 401, "the cookie opens the page alone");
assert.equal(JSON.parse(command("scout", "handoffs", "show", open, "--json")).packet.state, "open");
await page.getByRole("button", { name: "Sign out" }).click();
await page.getByLabel("Token").waitFor();

// Without scripts everything that was done above can be done, too.
const plain = await newPage({ javaScriptEnabled: false });
await signIn(plain, ROOT_TOKEN);
await plain.goto(`${project}/handoffs/${open}`);
await plain.getByRole("button", { name: "Accept" }).click();
await plain.getByText("It is yours now.").waitFor();
await plain.locator("details.action summary").click();
await plain.getByRole("button", { name: "Release" }).click();
await plain.getByText("It waits again.").waitFor();
await plain.goto(`${url}/ui/verify`);
await plain.getByRole("button", { name: "Prove it now" }).click();
await plain.getByText(/^Intact: \d+ rows checked/).waitFor();

// An observer sees that there is something, and neither what it says nor a button.
const watcher = await newPage();
await signIn(watcher, OBSERVER_TOKEN);
await watcher.goto(`${project}/handoffs/${open}`);
await watcher.getByText("Its texts are not yours to read.").waitFor();
assert.equal(await watcher.getByRole("button", { name: "Accept" }).count(), 0);
await picture(watcher, "observer");

await browser.close();
assert.deepEqual(complaints, [], "the browser complains");
console.log(`the page was walked: ${pictures} pictures`);
