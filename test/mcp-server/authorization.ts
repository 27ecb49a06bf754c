import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Happenings } from './happenings.ts';

/**
 * An OAuth authorization server for `/servers/KEY/guarded`. Its user allows each access. A test can
 * revoke the tokens.
 */
export class Authorization {
  readonly happenings: Happenings = new Happenings();
  readonly #challenges = new Map<string, string>();
  #token = 1;

  /** Returns whether the request has the current token. Otherwise answers it with 401. */
  allows(request: IncomingMessage, response: ServerResponse, metadata: string): boolean {
    if (request.headers.authorization === `Bearer token-${this.#token}`) return true;
    const challenge = `Bearer resource_metadata="${metadata}"`;
    response.writeHead(401, { 'www-authenticate': challenge }).end();
    return false;
  }

  /** Makes the tokens invalid that clients have. */
  revoke(): void {
    this.#token += 1;
  }

  async answer(request: IncomingMessage, response: ServerResponse, base: string): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', base);
    const send = (status: number, body: object): void =>
      void response
        .writeHead(status, { 'content-type': 'application/json' })
        .end(JSON.stringify(body));
    if (request.headers['x-secret']) this.happenings.happen('leak');
    const what = pathname.split('/').at(-1)!;
    this.happenings.happen(what);
    switch (what) {
      case 'resource':
      case 'guarded':
        return send(200, { resource: `${base}/guarded`, authorization_servers: [`${base}/oauth`] });
      case 'oauth':
        return send(200, {
          issuer: `${base}/oauth`,
          authorization_endpoint: `${base}/oauth/authorize`,
          token_endpoint: `${base}/oauth/token`,
          registration_endpoint: `${base}/oauth/register`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: ['none'],
        });
      case 'register':
        return send(201, { ...JSON.parse(await bodyOf(request)), client_id: 'client' });
      case 'authorize': {
        const code = `code-${this.#challenges.size}`;
        this.#challenges.set(code, searchParams.get('code_challenge') ?? '');
        return send(200, { code });
      }
      case 'token': {
        const given = new URLSearchParams(await bodyOf(request));
        const verifier = given.get('code_verifier') ?? '';
        const hash = createHash('sha256').update(verifier).digest('base64url');
        const isValid = this.#challenges.get(given.get('code') ?? '') === hash;
        if (!isValid) return send(400, { error: 'invalid_grant' });
        return send(200, { access_token: `token-${this.#token}`, token_type: 'Bearer' });
      }
      default:
        return send(404, {});
    }
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  return body;
}
