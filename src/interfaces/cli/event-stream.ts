/**
 * Reads server-sent events (WHATWG HTML section 9.2): calls `onEvent` for each, until the stream ends.
 *
 * Throws at an event longer than a megabyte: such a stream does not consist of events.
 */

import { createParser } from 'eventsource-parser'
import { request } from 'undici'

export interface ServerSentEvent {
  readonly id: string
  readonly event: string
  readonly data: string
}

export interface EventStreamOptions {
  readonly url: string
  readonly token: string
  readonly signal: AbortSignal
  /** Resumes after this event. */
  readonly lastEventId?: string
  readonly onOpen?: () => void
  readonly onEvent: (event: ServerSentEvent) => void
}

/** The service answered with another status than 200. */
export class StreamRefused extends Error {
  readonly status: number
  readonly text: string

  constructor(status: number, text: string) {
    super(`the event stream answered ${status}: ${text}`)
    this.status = status
    this.text = text
  }
}

const EVENT_CHARACTERS_MAX = 1_048_576

export async function readEventStream(options: EventStreamOptions): Promise<void> {
  const { url, token, signal, lastEventId, onOpen, onEvent } = options
  const { statusCode, body } = await request(url, {
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'text/event-stream',
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    },
    signal,
    bodyTimeout: 0,
  })
  if (statusCode !== 200) throw new StreamRefused(statusCode, await body.text())
  onOpen?.()

  const parse = createEventParser(onEvent)
  body.setEncoding('utf8')
  for await (const chunk of body as AsyncIterable<string>) parse(chunk)
}

/** Parses the text of a stream in chunks of any size. */
export function createEventParser(onEvent: (event: ServerSentEvent) => void): (chunk: string) => void {
  let id = ''
  const parser = createParser({
    maxBufferSize: EVENT_CHARACTERS_MAX,
    onId: (value) => (id = value),
    onEvent: ({ event = 'message', data }) => onEvent({ id, event, data }),
    onError(cause) {
      if (cause.type === 'max-buffer-size-exceeded') throw new Error('the event stream sent an event without an end')
    },
  })
  return (chunk) => parser.feed(chunk)
}
