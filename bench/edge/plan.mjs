// Shared by the Workers and the model. Keep this file tiny, because it is bundled with the Workers.

/**
 * Names of the models. Each name has the number of deltas of an answer, and how they come.
 * `burst`: at once. `instant`: at once and without the model's delay. `paced`: one every 5 ms.
 */
export const models = [
  '100-burst',
  '100-paced',
  '20-burst',
  '20-instant',
  '2000-burst',
  '2000-paced',
];
export const system = 'You are a careful assistant. Answer the question in a few words.';
/** Maximum number of earlier questions that the model receives. */
export const seenTurns = 20;
export const token = 'bench-token-0123456789abcdef';
