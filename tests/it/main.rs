//! Everything that is tested from outside, through the real executable.

mod arguments;
mod backups;
mod cli;
mod cli_drafts;
mod cli_edges;
mod cli_handoffs;
mod cli_memory;
mod cli_output;
mod cli_queue;
mod completions;
mod concurrency;
mod demo;
mod doctor;
mod everything;
mod faces;
mod faults;
mod faults_calls;
mod faults_clock;
mod faults_crowd;
mod faults_disk;
mod faults_files;
mod faults_gone;
mod faults_stop;
mod format;
mod handoffs;
mod handoffs_more;
mod harness;
mod kills;
mod linear;
mod masked;
mod model;
mod moving;
mod moving_files;
mod moving_forged;
mod moving_large;
mod moving_tampered;
mod openapi;
mod outcomes;
mod owners;
#[cfg(target_os = "linux")]
mod power;
#[cfg(target_os = "linux")]
mod power_beside;
#[cfg(target_os = "linux")]
mod power_check;
#[cfg(target_os = "linux")]
mod power_cuts;
#[cfg(target_os = "linux")]
mod power_disk;
#[cfg(target_os = "linux")]
mod power_file;
#[cfg(target_os = "linux")]
mod power_look;
#[cfg(target_os = "linux")]
mod power_lost;
#[cfg(target_os = "linux")]
mod power_trace;
mod previews;
mod protocol;
mod purge;
mod purge_more;
mod reference;
mod rest;
mod rest_bounds;
mod rest_ends;
mod rest_forms;
mod rest_gate;
mod rest_hidden;
mod rest_identity;
mod rest_kills;
mod rest_live;
mod rest_pages;
mod rest_places;
mod rest_races;
mod rest_refusals;
mod rest_routes;
mod rest_streams;
mod rest_tokens;
mod rest_unseen;
mod rest_work;
mod schema;
mod search;
mod security;
mod shell;
mod starting;
mod storage;
mod tamper;
mod terminal;
mod tidy;
mod web;
