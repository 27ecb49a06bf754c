/** CPU time of the contender `isoloop`, as a multiple of the floor's, by runtime and scenario. */
const node = { s1: 1.5, s2: 1.4, s3: 1.5, 's4-100': 1.3, s5: 1.5 };
export const loopBudgets = {
  node,
  'node-settled': node,
  workerd: { s1: 1.4, s2: 1.5, s3: 1.5, 's4-100': 1.2 },
};

/**
 * What an agent may add to its model, by runtime and scenario: the ratio of `isoloop` to the floor,
 * minus the ratio of `model`.
 */
const added = { s1: 0.3, s2: 0.3, s3: 0.3, 's4-100': 0.15, s5: 0.3 };
export const addedBudgets = { node: added, 'node-settled': added, workerd: added };

export const endpointBudgets = {
  load:
    'Budget of requests per second: 0.68 of the floor with KV, 0.58 with a Durable Object. ' +
    'Budget of the CPU per request: 1.9 × the floor with KV, 2.5 × with a Durable Object.',
  answer: 'Budget of the first table: 1.3 × the floor.',
  cold: 'Budget of the endpoint: 6 ms over the empty Worker.',
};

/** Milliseconds over `none` of the ways `isoloop-…`, by scenario. */
export const workerBudgets = { reads: 2, single: 3 };
