import { AgentError } from '../../../error/agent-error.ts';
import type { Ownership } from './stored-head.ts';

/** A writer's claim to own the session. A later claim of another writer ends it. */
export class WriterClaim {
  readonly writerId: string;
  #ownership: Ownership | undefined;
  #isLost = false;

  constructor(writerId: string) {
    this.writerId = writerId;
  }

  /** What this writer puts into the head. `undefined` without a claim: what the head has. */
  get ownership(): Ownership | undefined {
    return this.#ownership;
  }

  /** Whether another writer has claimed the session after this one, or this one gave it up. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Claims the session after `current`, the ownership in the head. */
  renew(current: Ownership | undefined): void {
    this.#isLost = false;
    this.#ownership = { owner: this.writerId, epoch: (current?.epoch ?? 0) + 1 };
  }

  /** Gives up the session. This writer can no longer write. */
  release(): void {
    this.#isLost = true;
  }

  /** Throws `SESSION_CONFLICT` if the claim is lost. `current`: the ownership in the head. */
  check(current: Ownership | undefined): void {
    const { owner, epoch = 0 } = current ?? {};
    const claim = this.#ownership;
    if (claim && owner !== this.writerId && epoch >= claim.epoch) this.#isLost = true;
    if (!this.#isLost) return;
    const message = 'Another writer has taken the session over.';
    throw new AgentError('SESSION_CONFLICT', message, { retryable: true });
  }
}
