import starlight from '@astrojs/starlight';
import { defineConfig, passthroughImageService } from 'astro/config';
import { root } from '../../scripts/root.ts';
import { chineseIndex } from '../../scripts/docs/search-index.ts';
import { basePath, htmlFolder, publicFolder } from '../../scripts/docs/site-folders.ts';
import { readSidebar } from '../../scripts/docs/sidebar-file.ts';

const cache = `${root}/node_modules/.cache/docs-site`;

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
        mergeIndex: [{ bundlePath: `${basePath}/${chineseIndex}/`, language: 'zh-cn' }],
      },
      customCss: ['./src/styles/site.css'],
      lastUpdated: false,
      credits: false,
    }),
  ],
});
