import type { Settings } from './settings.ts';

export type Theme = 'light' | 'dark';

export function systemTheme(): Theme {
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

export function currentTheme(): Theme {
  return document.documentElement.dataset['theme'] === 'dark' ? 'dark' : 'light';
}

/**
 * Sets the page's theme. `system` follows the system's setting until the returned function is
 * called.
 */
export function applyTheme(theme: Settings['theme']): () => void {
  const media = matchMedia('(prefers-color-scheme: dark)');
  const set = (): void => {
    document.documentElement.dataset['theme'] = theme === 'system' ? systemTheme() : theme;
  };
  set();
  media.addEventListener('change', set);
  return () => media.removeEventListener('change', set);
}
