import { useEffect, useRef } from 'react';

/** How near to the end of the page a reader counts as at the end, in pixels. */
const nearEnd = 100;

/**
 * Scrolls to the end of the page when the page grows. Does not scroll while the user reads earlier
 * messages, until the user sends one.
 */
export function useNewestInView(messages: readonly { readonly role: string }[]): void {
  const isAtEnd = useRef(true);
  const isSent = messages.at(-1)?.role === 'user';
  useEffect(() => {
    if (isSent) isAtEnd.current = true;
  }, [isSent]);
  useEffect(() => {
    const noteScroll = () => {
      isAtEnd.current = scrollY + innerHeight >= document.body.scrollHeight - nearEnd;
    };
    const observer = new ResizeObserver(() => {
      if (isAtEnd.current) scrollTo(0, document.body.scrollHeight);
    });
    addEventListener('scroll', noteScroll);
    observer.observe(document.body);
    return () => {
      removeEventListener('scroll', noteScroll);
      observer.disconnect();
    };
  }, []);
}
