/**
 * Reads server-sent events (WHATWG HTML section 9.2): calls `onEvent` for each, until the stream ends.
 *
 * An event longer than a megabyte ends the reading: a stream that never closes an event is not one.
 */

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
  readonly onOpen?: () => void
  readonly onEvent: (event: ServerSentEvent) => void
}

const EVENT_CHARACTERS_MAX = 1_048_576

export async function readEventStream({ url, token, signal, onOpen, onEvent }: EventStreamOptions): Promise<void> {
  const { statusCode, body } = await request(url, {
    headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
    signal,
    bodyTimeout: 0,
  })
  if (statusCode !== 200) throw new Error(`the event stream answered ${statusCode}: ${await body.text()}`)
  onOpen?.()

  const parse = createEventParser(onEvent)
  body.setEncoding('utf8')
  for await (const chunk of body as AsyncIterable<string>) parse(chunk)
}

/** Takes the text of a stream piece by piece, however it is cut. */
export function createEventParser(onEvent: (event: ServerSentEvent) => void): (chunk: string) => void {
  let rest = ''
  let id = ''
  let event = ''
  let data: string[] = []
  let characters = 0

  function takeLine(line: string): void {
    if (line === '') {
      if (data.length > 0) onEvent({ id, event: event || 'message', data: data.join('\n') })
      event = ''
      data = []
      characters = 0
      return
    }
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    characters += line.length
    if (characters > EVENT_CHARACTERS_MAX) throw new Error('the event stream sent an event without an end')
    if (field === 'data') data.push(value)
    else if (field === 'event') event = value
    else if (field === 'id') id = value
  }

  return (chunk) => {
    rest += chunk
    const lines = rest.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    if (rest.length > EVENT_CHARACTERS_MAX) throw new Error('the event stream sent a line without an end')
    for (const line of lines) takeLine(line)
  }
}
