import { readFileSync } from 'node:fs';

/** Returns how many bytes of a process are in memory. Works on Linux only. */
export function residentBytes(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)[1]) * 1024;
}
