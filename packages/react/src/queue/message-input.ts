import type { FileUIPart, UIMessage } from '@isoloop/core/stream';

/** Files of the user: of an `<input type="file">`, or as parts of a message. */
export type FilesInput = FileList | readonly (File | FileUIPart)[];

/** What `sendMessage` takes: a text, files, or the parts of a message. */
export type MessageInput<M extends UIMessage = UIMessage> = {
  /** Id of a sent message that the new one replaces, with all later messages. */
  readonly messageId?: string | undefined;
} & (
  | {
      readonly text: string;
      readonly files?: FilesInput | undefined;
      readonly metadata?: M['metadata'];
      readonly parts?: never;
    }
  | {
      readonly text?: never;
      readonly files: FilesInput;
      readonly metadata?: M['metadata'];
      readonly parts?: never;
    }
  | (Omit<M, 'id' | 'role'> & {
      id?: M['id'];
      role?: M['role'];
      readonly text?: never;
      readonly files?: never;
    })
);

/** Makes a message of the user. Files become data URLs. */
export async function toUserMessage(input: MessageInput): Promise<UIMessage> {
  const { messageId = crypto.randomUUID(), text, files = [], parts, metadata } = input;
  const { id = messageId, role = 'user' } = input as Partial<UIMessage>;
  const message = { id, role, ...(metadata !== undefined && { metadata }) };
  if (parts) return { ...message, parts };
  const fileParts = await Promise.all(Array.from(files, toFilePart));
  const textParts = text === undefined ? [] : [{ type: 'text' as const, text }];
  return { ...message, parts: [...fileParts, ...textParts] };
}

function toFilePart(file: File | FileUIPart): FileUIPart | Promise<FileUIPart> {
  if (!(file instanceof File)) return file;
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('error', () => reject(reader.error!));
    reader.addEventListener('load', () =>
      resolve({
        type: 'file',
        mediaType: file.type,
        filename: file.name,
        url: reader.result as string,
      }),
    );
    reader.readAsDataURL(file);
  });
}
