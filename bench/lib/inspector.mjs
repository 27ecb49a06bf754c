/**
 * Connects to the inspector of a Worker. Returns a function that collects garbage and returns the
 * bytes in use on the Worker's heap. `origin`: the address at which the Worker answers.
 */
export async function openHeap({ inspector, origin }) {
  const socket = new WebSocket(`ws://127.0.0.1:${inspector}/main`);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error('The inspector does not answer')));
  });
  const waiting = new Map();
  socket.addEventListener('message', ({ data }) => {
    const { id, result } = JSON.parse(data);
    waiting.get(id)?.(result);
    waiting.delete(id);
  });
  let calls = 0;
  const call = (method) => {
    calls += 1;
    const answer = new Promise((resolve) => waiting.set(calls, resolve));
    socket.send(JSON.stringify({ id: calls, method }));
    return answer;
  };
  await call('HeapProfiler.enable');
  return async () => {
    call('HeapProfiler.collectGarbage');
    // The Worker collects while it serves the next request.
    while (waiting.size) await (await fetch(`${origin}/ready`)).text();
    const { usedSize } = await call('Runtime.getHeapUsage');
    return usedSize;
  };
}
