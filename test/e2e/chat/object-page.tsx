import { useAgentObject, type AgentObjectHelpers } from '@isoloop/react/object';
import { agentEndpoint } from '@isoloop/react';
import { StrictMode, useEffect } from 'react';
import { createRoot } from 'react-dom/client';

interface Note {
  readonly note: string;
  readonly done: boolean;
}

declare global {
  interface Window {
    /** Latest return value of `useAgentObject`. */
    agentObject: AgentObjectHelpers<Note>;
  }
}

const query = new URLSearchParams(location.search);
const endpoint = agentEndpoint(`${query.get('at')}/api/chat`);

function View() {
  const helpers = useAgentObject<Note>(endpoint, { sessionId: query.get('id')! });
  useEffect(() => void (window.agentObject = helpers));
  return (
    <>
      <output>{helpers.status}</output>
      <pre>{JSON.stringify(helpers.object)}</pre>
      <p role="alert">{helpers.error?.message}</p>
    </>
  );
}

createRoot(document.querySelector('#root')!).render(
  <StrictMode>
    <View />
  </StrictMode>,
);
