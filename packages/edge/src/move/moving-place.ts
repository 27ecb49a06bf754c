import {
  endpointHere,
  placeWith,
  sessionViewOf,
  type ChooseOwner,
  type OwnerChange,
  type SessionCopy,
  type SessionPlace,
} from '@isoloop/core/move';
import type { HandlerSettings, SessionSetup } from '../settings/handler-options.ts';
import { sessionSecrets } from '../http/secrets.ts';
import { CopySigner } from './copy-signature.ts';
import { importedRecords } from './imported-records.ts';

/** Request of a client for a step of a move. */
export type MoveStep =
  | { readonly type: 'read' }
  | { readonly type: 'put'; readonly copy: SessionCopy }
  | { readonly type: 'set-owner'; readonly change: OwnerChange };

export interface MovingPlaceOptions {
  readonly settings: HandlerSettings;
  readonly setup: SessionSetup;
  /** Reads the session and writes its next owner. */
  readonly change: (choose: ChooseOwner) => Promise<unknown>;
}

/** Takes a step of a move with a session of the endpoint. Returns the copy of `read`. */
export async function takeMoveStep(
  step: MoveStep,
  options: MovingPlaceOptions,
): Promise<SessionCopy | undefined> {
  const { sessionId } = options.setup;
  const place = placeOf(options);
  if (step.type === 'set-owner') await place.setOwner(sessionId, step.change);
  if (step.type === 'put') await place.put({ ...step.copy, sessionId });
  if (step.type !== 'read') return undefined;
  const copy = await place.read(sessionId);
  const signature = copy && (await signerOf(options).sign(sessionViewOf(copy.records)));
  return copy && { ...copy, ...(signature !== undefined && { signature }) };
}

function placeOf(options: MovingPlaceOptions): SessionPlace {
  const { settings, setup, change } = options;
  return placeWith({
    name: endpointHere,
    change: (_sessionId, choose) => change(choose),
    accept: async (copy, { view }) =>
      importedRecords(copy, {
        settings,
        setup,
        storedView: view,
        signedParts: await signerOf(options).check(sessionViewOf(copy.records), copy.signature),
      }),
  });
}

function signerOf({ setup: { env, user, sessionId } }: MovingPlaceOptions): CopySigner {
  return new CopySigner(sessionSecrets(env), user, sessionId);
}
