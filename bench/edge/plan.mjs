// What both sides know. Tiny: it is bundled with the Workers.

/** What a client may ask for: how many deltas, all at once behind the first or one each 5 ms. */
export const models = ['100-burst', '100-paced', '20-burst', '2000-burst', '2000-paced'];
export const system = 'You are a careful assistant. Answer the question in a few words.';
/** Earlier turns of a conversation that the model is shown. */
export const seenTurns = 20;
export const token = 'bench-token-0123456789abcdef';
