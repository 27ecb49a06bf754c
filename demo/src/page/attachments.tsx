import { useEffect, useState, type ClipboardEvent } from 'react';

export interface Attachments {
  readonly files: readonly File[];
  /** Why the last files were not taken. */
  readonly refusal: string | undefined;
  readonly remove: (file: File) => void;
  readonly clear: () => void;
  /** Takes the files of the clipboard. A text is pasted as usual. */
  readonly onPaste: (event: ClipboardEvent) => void;
}

/**
 * Collects the files that the user pastes into the message field or drops on the page. `isReader`:
 * the model reads files.
 */
export function useAttachments(isReader: boolean): Attachments {
  const [files, setFiles] = useState<readonly File[]>([]);
  const [isRefused, setIsRefused] = useState(false);
  const add = (added: readonly File[]): void => {
    setIsRefused(!isReader);
    if (isReader) setFiles([...files, ...added]);
  };
  useEffect(() => {
    // Without these two, the browser would leave the page and open the file.
    const onDragOver = (event: DragEvent): void => {
      if (event.dataTransfer?.types.includes('Files')) event.preventDefault();
    };
    const onDrop = (event: DragEvent): void => {
      const dropped = [...(event.dataTransfer?.files ?? [])];
      if (!dropped.length) return;
      event.preventDefault();
      add(dropped);
    };
    document.addEventListener('dragover', onDragOver);
    document.addEventListener('drop', onDrop);
    return () => {
      document.removeEventListener('dragover', onDragOver);
      document.removeEventListener('drop', onDrop);
    };
  });
  return {
    files: isReader ? files : [],
    refusal:
      isRefused && !isReader ? 'The offline model reads no files. A real model does.' : undefined,
    remove: (file) => setFiles(files.filter((other) => other !== file)),
    clear: () => {
      setFiles([]);
      setIsRefused(false);
    },
    onPaste(event) {
      const pasted = [...event.clipboardData.files];
      if (!pasted.length || event.clipboardData.types.includes('text/plain')) return;
      event.preventDefault();
      add(pasted);
    },
  };
}

/** Shows the files of the message that is being written. */
export function AttachmentList({ files, refusal, remove }: Attachments) {
  return (
    <div role="status" className="attachments">
      {refusal && <p>{refusal}</p>}
      {files.map((file, index) => (
        <button
          key={index}
          type="button"
          aria-label={`Remove ${file.name}`}
          onClick={() => remove(file)}
        >
          {file.name} <span aria-hidden="true">×</span>
        </button>
      ))}
    </div>
  );
}
