import { onTestFinished } from 'vitest';
import { cdp } from 'vitest/browser';

/** A page's frame or a worker, by the browser's debugging protocol. */
export interface Inspected {
  /** Live objects by class, after a garbage collection; the classes are globals there. */
  count(classes: readonly string[]): Promise<Readonly<Record<string, number>>>;
  /** Bytes of its heap, after a garbage collection. */
  heap(): Promise<number>;
}

type Send = (method: string, params?: object) => Promise<unknown>;

interface TargetInfo {
  readonly type: string;
  readonly url: string;
}

const page = cdp();
const sendToPage = page.send.bind(page) as unknown as Send;

/** The frame these tests run in. */
export async function inspectFrame(): Promise<Inspected> {
  return inspect(sendToPage, await findContext());
}

/** The worker that `start` starts. */
export async function inspectWorker(
  start: () => Worker,
): Promise<{ readonly worker: Worker; readonly inspected: Inspected }> {
  const answers = new Map<number, (result: unknown) => void>();
  page.on('Target.receivedMessageFromTarget', ({ message }) => {
    const { id, result } = JSON.parse(message) as { readonly id: number; readonly result: unknown };
    answers.get(id)?.(result);
  });
  // The deprecated way, by which one session can speak to another.
  const attach = (autoAttach: boolean) =>
    sendToPage('Target.setAutoAttach', {
      autoAttach,
      waitForDebuggerOnStart: false,
      flatten: false,
    });
  await attach(true);
  onTestFinished(async () => void (await attach(false)));
  // Created only now: workers of earlier tests that still live were attached above.
  const attached = new Promise<string>((resolve) => {
    page.on(
      'Target.attachedToTarget',
      ({
        sessionId,
        targetInfo,
      }: {
        readonly sessionId: string;
        readonly targetInfo: TargetInfo;
      }) => {
        if (targetInfo.type === 'worker') resolve(sessionId);
      },
    );
  });
  const worker = start();
  const sessionId = await attached;
  let lastId = 0;
  const send: Send = (method, params) =>
    new Promise((resolve, reject) => {
      const id = ++lastId;
      answers.set(id, resolve);
      sendToPage('Target.sendMessageToTarget', {
        sessionId,
        message: JSON.stringify({ id, method, params }),
      }).catch(reject);
    });
  return { worker, inspected: inspect(send) };
}

function inspect(send: Send, contextId?: number): Inspected {
  const alive = async (className: string): Promise<number> => {
    const objectGroup = 'counted';
    const where = contextId === undefined ? {} : { contextId };
    const prototype = (await send('Runtime.evaluate', {
      expression: `${className}.prototype`,
      objectGroup,
      ...where,
    })) as {
      readonly result: { readonly objectId: string };
    };
    const { objects } = (await send('Runtime.queryObjects', {
      prototypeObjectId: prototype.result.objectId,
      objectGroup,
    })) as {
      readonly objects: { readonly objectId: string };
    };
    const { result } = (await send('Runtime.callFunctionOn', {
      objectId: objects.objectId,
      functionDeclaration: 'function () { return this.length; }',
      returnByValue: true,
    })) as { readonly result: { readonly value: number } };
    await send('Runtime.releaseObjectGroup', { objectGroup });
    return result.value;
  };
  return {
    async count(classes) {
      await send('HeapProfiler.collectGarbage');
      const counts: Record<string, number> = {};
      for (const name of classes) counts[name] = await alive(name);
      return counts;
    },
    async heap() {
      await send('HeapProfiler.collectGarbage');
      return ((await send('Runtime.getHeapUsage')) as { readonly usedSize: number }).usedSize;
    },
  };
}

/** The execution context of these tests, a frame of the page: objects are counted by context. */
async function findContext(): Promise<number> {
  const ids: number[] = [];
  const onCreated = ({
    context: { id, auxData },
  }: {
    readonly context: { readonly id: number; readonly auxData?: object };
  }): void => {
    // The test runner has a world of its own in each frame.
    if ((auxData as { readonly isDefault?: boolean } | undefined)?.isDefault) ids.push(id);
  };
  page.on('Runtime.executionContextCreated', onCreated);
  await page.send('Runtime.enable');
  page.off('Runtime.executionContextCreated', onCreated);
  // Its events would outlive the tests.
  await page.send('Runtime.disable');
  window.name = `counted-${crypto.randomUUID()}`;
  for (const id of ids) {
    const { result } = await page.send('Runtime.evaluate', { expression: 'name', contextId: id });
    if (result.value === window.name) return id;
  }
  throw new Error('The frame of the tests was not found.');
}
