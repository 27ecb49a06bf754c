// Shared by both sides. Keep it tiny: it is bundled with the Workers.

/**
 * The models that a client may ask for: the number of deltas, and whether they come at once
 * (`burst`) or every 5 ms (`paced`).
 */
export const models = ['100-burst', '100-paced', '20-burst', '2000-burst', '2000-paced'];
export const system = 'You are a careful assistant. Answer the question in a few words.';
/** Number of earlier turns that the model receives. */
export const seenTurns = 20;
export const token = 'bench-token-0123456789abcdef';
