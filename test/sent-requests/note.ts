import {
  brokenRules,
  type BrokenRule,
  type RequestWire,
} from '../../packages/core/src/testing/request-rules/broken-rules.ts';
import { channelName, noteBroken, registry } from './registry.ts';

/** Fields that only the provider server of the tests reads. */
const ownField = /^(parameters\.)?script$/;

/** Notes the rules that a request over HTTP breaks. */
export function noteRequest({
  url,
  body,
}: {
  readonly url: string;
  readonly body?: string | undefined;
}): void {
  const wire = wireOf(url);
  if (wire && body !== undefined) note(brokenRules(wire, body, url));
}

/** Notes the rules that a call of an AI SDK model breaks. */
export function noteCall(call: object): void {
  note(brokenRules('ai-sdk', call));
}

/** Returns the format of a request. Our models end the address with the path of the service. */
export function wireOf(url: string): RequestWire | undefined {
  const path = url.split('?')[0]!;
  if (path.endsWith('/chat/completions')) return 'chat-completions';
  if (path.endsWith('/responses')) return 'responses';
  return path.includes('/services/aigc/') ? 'dashscope' : undefined;
}

function note(all: readonly BrokenRule[]): void {
  const broken = all.flatMap((rule) => {
    const at = rule.at.filter((path) => !ownField.test(path));
    return at.length ? { ...rule, at } : [];
  });
  if (!broken.length) return;
  if (registry().isWatched) return noteBroken(broken);
  // A worker or another page has no tests. The page of the tests listens.
  if (typeof BroadcastChannel === 'undefined') return;
  const channel = new BroadcastChannel(channelName);
  channel.postMessage(broken);
  channel.close();
}
