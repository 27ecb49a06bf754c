/** CPU time of the contender `isoloop`, as a multiple of the floor's, by runtime and scenario. */
const node = { s1: 1.4, s2: 1.3, s3: 1.4, 's4-100': 1, s5: 1.4 };
export const loopBudgets = {
  node,
  'node-settled': node,
  workerd: { s1: 1.4, s2: 1.5, s3: 1.5, 's4-100': 1.1 },
};

export const endpointBudgets = {
  load:
    'Budget of requests per second: 0.68 of the floor with KV, 0.58 with a Durable Object. ' +
    'Budget of the CPU per request: 1.9 × the floor with KV, 2.5 × with a Durable Object.',
  answer: 'Budget of the first table: 1.3 × the floor.',
  cold: 'Budget of the endpoint: 6 ms over the empty Worker.',
};

/** Milliseconds over `none` of the ways `isoloop-…`, by scenario. */
export const workerBudgets = { reads: 2, single: 3 };
