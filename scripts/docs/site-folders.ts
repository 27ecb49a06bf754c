import { root } from '../root.ts';

/** Folder of the site's own code. */
export const siteFolder: string = `${root}/docs/site`;

/** The pages as the generator reads them. Git ignores `dist`. */
export const contentFolder: string = `${siteFolder}/dist/content`;

/** Files that the site serves unchanged. */
export const publicFolder: string = `${siteFolder}/dist/public`;

/** The built site. */
export const htmlFolder: string = `${siteFolder}/dist/html`;

/** Path under which the site is served, without a trailing slash. */
export const basePath = '/docs';
