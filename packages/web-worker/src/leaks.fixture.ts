import { ReActAgent } from '@isoloop/core';
import { Outbox } from './outbox.ts';
import './page.fixture.ts';
import { PageLink } from './page-link.ts';
import { Reign } from './reign.ts';
import { TabSession } from './tab-session.ts';

/** For the debugging protocol, which knows classes by global names. */
Object.assign(globalThis, { ReActAgent, Outbox, PageLink, Reign, TabSession });
