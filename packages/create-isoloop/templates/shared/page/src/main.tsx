import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Chat } from './chat.tsx';
import './style.css';

createRoot(document.querySelector('#root')!).render(
  <StrictMode>
    <Chat />
  </StrictMode>,
);
