import { defineConfig } from 'vite';

export default defineConfig({
  // Vite finds the imports of a worker late, and would reload the page once.
  optimizeDeps: {
    include: [
      '@isoloop/core',
      '@isoloop/core/openai',
      '@isoloop/react',
      '@isoloop/web-worker/worker',
      'zod',
    ],
  },
  // Packages mark code with "use client", which only matters on servers. Vite warns about each one,
  // and about builds on slow machines.
  build: { rolldownOptions: { checks: { moduleLevelDirective: false, pluginTimings: false } } },
});
