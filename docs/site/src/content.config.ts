import { pathToFileURL } from 'node:url';
import { docsSchema } from '@astrojs/starlight/schema';
import { defineCollection } from 'astro:content';
import { glob } from 'astro/loaders';
import { contentFolder } from '../../../scripts/docs/site-folders.ts';

/** The pages that `npm run docs` has written, because the sources have no front matter. */
export const collections = {
  docs: defineCollection({
    loader: glob({ base: pathToFileURL(contentFolder), pattern: '**/*.md' }),
    schema: docsSchema(),
  }),
};
