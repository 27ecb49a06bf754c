export const app = { fetch: () => new Response('ready') };
