// A worker that exposes no agent.
addEventListener('message', () => {});
