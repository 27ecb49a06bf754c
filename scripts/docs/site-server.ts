import { readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { liveFolder, liveHeaders, sitePolicy } from '../../docs/site/site-headers.ts';
import { runCommand } from '../run-command.ts';
import { contentType } from './content-type.ts';
import { readPlainPages, type PlainPages } from './plain-pages.ts';
import { basePath, htmlFolder } from './site-folders.ts';

export interface SiteServer {
  /** `http://127.0.0.1:PORT`; the site is below `/docs`. */
  readonly url: string;
  /** Origin of the frames in which the live examples run. */
  readonly liveOrigin: string;
  stop(): Promise<void>;
}

export interface SiteServerOptions {
  /** Port on loopback. Default: any free port. */
  readonly port?: number;
  /** Builds the site at its first request. Default: `npm run docs`. */
  readonly build?: () => Promise<BuildResult>;
  /** Whether the site is built already. Default: false. */
  readonly isBuilt?: boolean;
}

interface BuildResult {
  readonly ok: boolean;
  readonly output: string;
}

/**
 * Serves the site on loopback. The first request for a page starts the build, so that a start costs
 * nothing for people who do not read the docs. Until the build ends, readers get the plain pages.
 * For what these do not have, a page waits.
 */
export async function startSiteServer({
  port = 0,
  build = buildSite,
  isBuilt = false,
}: SiteServerOptions = {}): Promise<SiteServer> {
  let building: Promise<BuildResult> | undefined;
  let built = isBuilt ? { ok: true, output: '' } : undefined;
  let plain: PlainPages | undefined;
  const live = createServer(serveLive);
  const liveOrigin = await listen(live, 0);
  const server = createServer(({ url = '/' }, response) => {
    if (!isBuilt) building ??= build().then((result) => (built = result));
    const { pathname } = new URL(url, 'http://site');
    if (pathname === `${liveFolder}origin.json`) return sendJson(response, { origin: liveOrigin });
    if (built === undefined) {
      plain ??= readPlainPages();
      return sendPlain(response, pathname, plain);
    }
    if (!built.ok) return sendText(response, 500, failedPage(built.output));
    sendFile(response, pathname).catch((error: unknown) => {
      sendText(response, 500, failedPage(String(error)));
    });
  });
  return {
    url: await listen(server, port),
    liveOrigin,
    stop: async () => {
      await Promise.all([close(server), close(live)]);
    },
  };
}

/** Serves the frame of the live examples and its libraries, on an origin of its own. */
function serveLive(
  { url = '/', headers: { host = '' } }: IncomingMessage,
  response: ServerResponse,
): void {
  const address = new URL(url, `http://${host}`);
  if (!address.pathname.startsWith(liveFolder)) {
    response.writeHead(404).end();
    return;
  }
  const headers = liveHeaders(address);
  headers['content-security-policy'] += '; frame-ancestors http://127.0.0.1:* http://localhost:*';
  sendFile(response, address.pathname, headers).catch((error: unknown) => {
    sendText(response, 500, failedPage(String(error)));
  });
}

function listen(server: Server, port: number): Promise<string> {
  return new Promise((resolve) => {
    server.listen(port, '127.0.0.1', () => {
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    });
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function sendJson(response: ServerResponse, value: object): void {
  response.writeHead(200, { 'content-type': contentType('.json') }).end(JSON.stringify(value));
}

function buildSite(): Promise<BuildResult> {
  return runCommand('node', ['scripts/docs/build.ts']);
}

/** Answers with a file of the site. A path without a file gets the page for missing pages. */
async function sendFile(
  response: ServerResponse,
  pathname: string,
  given: Readonly<Record<string, string>> = { 'content-security-policy': policy },
): Promise<void> {
  if (pathname === basePath) {
    response.writeHead(308, { location: `${basePath}/` }).end();
    return;
  }
  const file = await fileAt(pathname);
  const headers = { ...given, 'x-content-type-options': 'nosniff' };
  if (file) {
    const type = contentType(file);
    const content = await readFile(file);
    // As a deployed site does it. The pages of the reference are large.
    const encoding = /^(?:image\/(?!svg)|application\/(?:octet|wasm))/.test(type) ? {} : compressed;
    const body = 'content-encoding' in encoding ? await promisify(gzip)(content) : content;
    response.writeHead(200, { 'content-type': type, ...encoding, ...headers }).end(body);
  } else {
    response.writeHead(404, { 'content-type': contentType('.html'), ...headers });
    response.end(await readFile(`${htmlFolder}/404.html`));
  }
}

const compressed = { 'content-encoding': 'gzip' };

/** Answers from the plain pages. What they do not have is being built. */
function sendPlain(response: ServerResponse, pathname: string, pages: PlainPages): void {
  const address = decodeURIComponent(pathname)
    .slice(basePath.length)
    .replace(/^\/|\/$/g, '');
  const html = pages.page(address);
  if (html) return sendText(response, 200, html, { 'cache-control': 'no-store' });
  const file = address.startsWith('media/') && pages.file(address.slice('media/'.length));
  if (!file) return sendText(response, 503, waitingPage, { 'retry-after': '1' });
  response.writeHead(200, { 'content-type': contentType(file) }).end(readFileSync(file));
}

async function fileAt(pathname: string): Promise<string | undefined> {
  const path = join(htmlFolder, decodeURIComponent(pathname.slice(basePath.length)));
  if (!pathname.startsWith(`${basePath}/`) || !path.startsWith(join(htmlFolder, '/'))) return;
  for (const file of [path, join(path, 'index.html')]) {
    const found = await stat(file).catch(() => undefined);
    if (found?.isFile()) return file;
  }
  return undefined;
}

const policy = sitePolicy('http://127.0.0.1:*');

function sendText(
  response: ServerResponse,
  status: number,
  html: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': contentType('.html'), ...headers }).end(html);
}

const waitingPage = page(
  '<meta http-equiv="refresh" content="1">',
  '<p>This part of the documentation is being built. This takes up to a minute, once.</p>',
);

function failedPage(output: string): string {
  const escaped = output.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return page('', `<p>The build of the documentation failed.</p><pre>${escaped}</pre>`);
}

function page(head: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>Isoloop docs</title>${head}</head><body style="font: 1rem system-ui; max-width: 40rem; margin: 20vh auto; padding: 1rem">${body}</body></html>`;
}
