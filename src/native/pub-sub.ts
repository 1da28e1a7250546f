/** What is published, as it goes from process to process. */
export interface Message {
  readonly topic: string;
  readonly data: Uint8Array;
  /** Of the frame that subscribers get. */
  readonly isBinary: boolean;
}

/** The message with memory of its own: between threads a view is copied with all the memory that it is a view of. */
export function withOwnMemory(message: Message): Message {
  const { data } = message;
  return data.byteLength === data.buffer.byteLength ? message : { ...message, data: new Uint8Array(data) };
}

/** Carries what is published in this process to the others: other instances, other workers. */
export interface PubSub {
  /**
   * Hands a message on. It reaches every other process at most once, and what one process sends in the order in which
   * it was sent. Never waits and never throws: what cannot be sent is lost, and the log says so.
   */
  send(message: Message): void;
  /** Resolves when messages can come, or it is clear that for now they cannot. */
  whenTried(): Promise<void>;
  close(): void;
}
