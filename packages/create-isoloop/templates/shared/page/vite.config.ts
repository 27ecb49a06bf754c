import { defineConfig } from 'vite';

export default defineConfig({
  // Vite finds the imports of a worker late, and would reload the page once.
  optimizeDeps: { include: ['@isoloop/core/openai', '@isoloop/web-worker/worker', 'zod'] },
});
