import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import starlight from '@astrojs/starlight';
import { defineConfig, passthroughImageService } from 'astro/config';
import { root } from '../../scripts/root.ts';
import { chineseIndex } from '../../scripts/docs/search-index.ts';
import { basePath, htmlFolder, publicFolder, siteFolder } from '../../scripts/docs/site-folders.ts';
import { readSidebar } from '../../scripts/docs/sidebar-file.ts';

// Astro keeps rendered pages even if this configuration changes, so each version of it has a cache.
const version = createHash('sha256').update(readFileSync(`${siteFolder}/astro.config.ts`));
const cache = `${root}/node_modules/.cache/docs-site/${version.digest('hex').slice(0, 8)}`;

/** The site. `npm run docs` writes its pages before, see `scripts/docs/build.ts`. */
export default defineConfig({
  base: basePath,
  outDir: htmlFolder,
  publicDir: publicFolder,
  cacheDir: `${cache}/astro`,
  vite: { cacheDir: `${cache}/vite` },
  image: { service: passthroughImageService() },
  devToolbar: { enabled: false },
  integrations: [
    starlight({
      title: 'Isoloop',
      description: 'ReAct agents in a tab, at the edge and in Node',
      locales: {
        root: { label: 'English', lang: 'en' },
        zh: { label: '简体中文', lang: 'zh-CN' },
      },
      sidebar: readSidebar(),
      pagefind: {
        mergeIndex: [
          { bundlePath: `${basePath}/${chineseIndex}/`, language: 'zh-cn', indexWeight: 0.3 },
        ],
      },
      components: { Search: './src/components/search.astro' },
      customCss: ['../../demo/src/page/theme.css', './src/styles/site.css'],
      // Long lines scroll: in a wrapped comment, the second line would look like code.
      expressiveCode: { defaultProps: { wrap: false } },
      lastUpdated: false,
      credits: false,
    }),
  ],
});
