import type { ChooseOwner } from '@isoloop/core/move';
import { changeBranchOwner } from '../kv/change-branch-owner.ts';
import type { HandlerSettings, SessionSetup } from '../settings/handler-options.ts';
import { sessionSecrets } from '../http/secrets.ts';
import { KvStore } from '../kv/kv-store.ts';
import { KvTitles } from '../kv/kv-titles.ts';
import { echoHeader } from '../http/header-names.ts';
import { noContent } from '../session/command-handler.ts';
import { takeMoveStep, type MoveStep } from './moving-place.ts';

export interface KvMove {
  readonly kv: KVNamespace;
  readonly settings: HandlerSettings;
  readonly setup: SessionSetup;
  /** Echo that the client sent. */
  readonly echo: string | undefined;
}

/** Takes a step of a move with a session in KV. The response has the new echo in its header. */
export async function takeKvStep(step: MoveStep, move: KvMove): Promise<Response> {
  const { kv, settings, setup } = move;
  const { user, sessionId, env } = setup;
  const titles = new KvTitles(kv, user);
  let echo: string | undefined;
  const change = async (choose: ChooseOwner): Promise<void> => {
    const options = { secrets: sessionSecrets(env), echo: move.echo };
    echo = await changeBranchOwner(new KvStore(kv), `${user}/${sessionId}`, options, choose);
  };
  const copy = await takeMoveStep(step, { settings, setup, change });
  if (step.type === 'put') await titles.delete(sessionId);
  const titledCopy = copy && (await withTitle(copy, titles));
  const response = titledCopy ? Response.json(titledCopy) : noContent();
  if (echo !== undefined) response.headers.set(echoHeader, echo);
  return response;
}

/** Returns the copy with the title that a person gave the session here. */
async function withTitle<
  C extends { readonly sessionId: string; readonly records: readonly object[] },
>(copy: C, titles: KvTitles): Promise<C> {
  const title = (await titles.read())(copy.sessionId);
  if (title === undefined) return copy;
  return { ...copy, records: [...copy.records, { kind: 'state', state: { title } }] };
}
