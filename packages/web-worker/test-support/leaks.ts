import { ReActAgent } from '@isoloop/core';
import { Outbox } from '../src/worker/outbox.ts';
import './page.ts';
import { PageLink } from '../src/session/page-link.ts';
import { LeaderTerm } from '../src/tabs/leader-term.ts';
import { TabSession } from '../src/tabs/tab-session.ts';

/** For the debugging protocol, which knows classes by global names. */
Object.assign(globalThis, { ReActAgent, Outbox, PageLink, LeaderTerm, TabSession });
