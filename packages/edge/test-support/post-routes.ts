/** Routes that take a JSON body for the agent or for a model. */
export const postRoutes: readonly string[] = [
  '/api/chat',
  '/api/run',
  '/v1/chat/completions',
  '/v1/responses',
  '/llm/v1/chat/completions',
  '/llm/v1/responses',
];
