import { brokenRules, type BrokenRule, type RequestWire } from '../request-rules/broken-rules.ts';
import { channelName, noteBroken, phraseOf, registry } from './registry.ts';

interface SentRequest {
  readonly url: string;
  /** Without it, the request is a GET. */
  readonly body?: unknown;
}

/** Fields that only the provider server of the tests reads. */
const ownField = /^(parameters\.)?script$/;

/** Notes the rules that a request over HTTP breaks. */
export function noteRequest(request: SentRequest): void {
  note(rulesBrokenBy(request));
}

/** Notes the rules that a call of an AI SDK model breaks. */
export function noteCall(call: object, provider: string): void {
  note(brokenRules('ai-sdk', call, provider));
}

/**
 * Returns why a strict server refuses a request, and notes it if the server runs in the process of
 * the test. Returns `undefined` if the request breaks no rule.
 */
export function refusalOf(request: SentRequest): string | undefined {
  const broken = rulesBrokenBy(request);
  noteBroken(broken);
  return broken.length ? broken.map(phraseOf).join(' ') : undefined;
}

function rulesBrokenBy({ url, body }: SentRequest): readonly BrokenRule[] {
  const wire = wireOf(url);
  if (!wire || body === undefined) return [];
  return brokenRules(wire, body, url).flatMap((rule) => {
    const at = rule.at.filter((path) => !ownField.test(path));
    return at.length ? { ...rule, at } : [];
  });
}

/** Returns the format of a request. Our models end the address with the path of the service. */
function wireOf(url: string): RequestWire | undefined {
  const path = url.split('?')[0]!;
  if (path.endsWith('/chat/completions')) return 'chat-completions';
  if (path.endsWith('/responses')) return 'responses';
  return path.includes('/services/aigc/') ? 'dashscope' : undefined;
}

function note(broken: readonly BrokenRule[]): void {
  if (!broken.length) return;
  if (registry().isWatched) return noteBroken(broken);
  // A worker or another page has no tests. The page of the tests listens.
  if (typeof BroadcastChannel === 'undefined') return;
  const channel = new BroadcastChannel(channelName);
  channel.postMessage(broken);
  channel.close();
}
