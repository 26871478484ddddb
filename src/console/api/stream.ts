/**
 * Reads server-sent events through the session of the console, and resumes after the last one when the connection ends.
 *
 * `EventSource` cannot send the header that shows that a page of the console asks.
 */

import { HEADERS, isSignedIn } from './client.ts'

export interface StreamEvent {
  readonly id: string
  readonly data: string
}

export interface StreamHandlers {
  readonly onEvents: (events: readonly StreamEvent[]) => void
  /** Null while the stream is open; since when it is not. */
  readonly onState: (downSince: Date | null) => void
}

const WAIT_MS = [500, 1_000, 2_000, 5_000, 10_000]

/** Returns a function that ends the stream. */
export function openStream(url: string, { onEvents, onState }: StreamHandlers): () => void {
  const controller = new AbortController()
  let lastId = ''
  let failures = 0
  let downSince: Date | null = null

  async function readOnce(): Promise<void> {
    const headers = { ...HEADERS, accept: 'text/event-stream', ...(lastId !== '' && { 'last-event-id': lastId }) }
    const response = await fetch(url, { headers, signal: controller.signal })
    if (response.status === 401) isSignedIn.value = false
    if (response.status !== 200 || response.body === null) throw new Error(String(response.status))
    failures = 0
    downSince = null
    onState(null)
    let rest = ''
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + chunk).split('\n\n')
      rest = blocks.pop() ?? ''
      const events = blocks.flatMap(toEvent)
      lastId = events.at(-1)?.id ?? lastId
      if (events.length > 0) onEvents(events)
    }
  }

  async function run(): Promise<void> {
    while (!controller.signal.aborted && isSignedIn.value !== false) {
      await readOnce().catch(() => {
        failures++
      })
      if (controller.signal.aborted) return
      downSince ??= new Date()
      onState(downSince)
      await new Promise((resolve) => setTimeout(resolve, WAIT_MS[Math.min(failures, WAIT_MS.length - 1)]))
    }
  }

  void run()
  return () => controller.abort()
}

function toEvent(block: string): StreamEvent[] {
  let id = ''
  const data: string[] = []
  for (const line of block.split('\n')) {
    if (line.startsWith('id:')) id = line.slice(3).trim()
    else if (line.startsWith('data:')) data.push(line.slice(5).trimStart())
  }
  return data.length === 0 ? [] : [{ id, data: data.join('\n') }]
}
