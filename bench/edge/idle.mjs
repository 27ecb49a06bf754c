import { openHeap } from '../lib/inspector.mjs';
import { residentBytes } from '../lib/resident-bytes.mjs';
import { table } from '../lib/report.mjs';
import { converse } from './client.mjs';
import { contenders, startApp } from './contenders.mjs';
import { workload } from '../lib/workload.mjs';

const users = workload(20, 1);
const { app, format, binds } = contenders['isoloop, Durable Object'];

/** Starts of sessions. Each returns a function that asks the session its next question. */
const apps = {
  object: ({ port }) => {
    const headers = { 'x-object': crypto.randomUUID() };
    return async () => (await fetch(`http://127.0.0.1:${port}`, { headers })).text();
  },
  [app]: ({ port, user }) => {
    const ask = converse({ port, format, user, posts: 2 });
    return () => ask('20-instant');
  },
};

const plans = [
  { name: 'object', sessions: 1000, turns: 2 },
  { name: app, sessions: 200, turns: 2 },
  { name: app, sessions: 1000, turns: 2 },
  { name: app, sessions: 200, turns: 10 },
].map((plan) => workload(plan, { ...plan, sessions: 2, turns: 2 }));

/**
 * Measures what an idle session costs while its Durable Object is in memory. Compares many sessions
 * with one session per user and the same number of turns, each in a fresh process. Both processes
 * keep the same number of messages.
 */
export async function measureIdle(setup) {
  const rows = [];
  for (const { name, sessions, turns } of plans) {
    const few = { sessions: users, turns: (sessions * turns) / users };
    const many = await restAfter(name, { sessions, turns }, setup);
    const base = await restAfter(name, few, setup);
    const perSession = (kind) => ((many[kind] - base[kind]) / (sessions - users) / 1024).toFixed(0);
    rows.push([
      `${name}: ${sessions} sessions of ${turns} turns`,
      megabytes(many.resident),
      megabytes(base.resident),
      perSession('resident'),
      perSession('heap'),
    ]);
  }
  const head = [
    '',
    'MB in memory',
    `MB with ${users} sessions`,
    'kB per idle session',
    'of these, JavaScript heap',
  ];
  return table(head, rows);
}

/** Returns the bytes that a fresh process has in memory after garbage collection. */
async function restAfter(name, { sessions, turns }, { bundles, world }) {
  const options = { app: name, binds, pinned: true, inspect: true };
  const { port, pid, inspector, stop } = await startApp(bundles, options, world);
  try {
    let left = sessions;
    const user = async (_, number) => {
      while (left > 0) {
        left -= 1;
        const ask = apps[name]({ port, user: `user-${number}` });
        for (let turn = 0; turn < turns; turn++) await ask();
      }
    };
    await Promise.all(Array.from({ length: users }, user));
    const heapInUse = await openHeap({ inspector, origin: `http://127.0.0.1:${port}` });
    const heap = await heapInUse();
    return { resident: residentBytes(pid), heap };
  } finally {
    stop();
  }
}

const megabytes = (bytes) => (bytes / 2 ** 20).toFixed(0);
