import { ReActAgent } from '@isoloop/core';
import { EventSender } from '../src/worker/event-sender.ts';
import './page.ts';
import { PageLink } from '../src/session/page/page-link.ts';
import { DirectHost } from '../src/session/direct-host.ts';
import { SessionRuns } from '../src/session/runs/session-runs.ts';
import { Session } from '../src/session/session.ts';
import { Leader } from '../src/tabs/leader.ts';
import { RunTakeover } from '../src/tabs/run-takeover.ts';
import { StallWatch } from '../src/tabs/stall-watch.ts';
import { TabChannel } from '../src/tabs/tab-channel.ts';
import { SharedTabHost } from '../src/tabs/shared-tab-host.ts';

// The debugging protocol finds classes by global names.
Object.assign(globalThis, {
  ReActAgent,
  EventSender,
  PageLink,
  Session,
  DirectHost,
  SessionRuns,
  SharedTabHost,
  Leader,
  RunTakeover,
  TabChannel,
  StallWatch,
});
