import './plain-zod.ts';
import { createRoot } from 'react-dom/client';
import { App } from './page/app.tsx';
import './page/theme.css';
import './page/styles.css';

createRoot(document.querySelector('#root')!).render(<App />);
