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

const WAIT_MS = [0, 500, 1_000, 2_000, 5_000]
/** The service sends a comment every 15 seconds, so that a connection without an end is noticed. */
const SILENCE_MS = 45_000

/** Returns a function that ends the stream. */
export function openStream(url: string, { onEvents, onState }: StreamHandlers): () => void {
  const controller = new AbortController()
  let lastId = ''
  let failures = 0
  let downSince: Date | null = null

  async function readOnce(): Promise<void> {
    const silence = createTimeout(SILENCE_MS)
    const headers = { ...HEADERS, accept: 'text/event-stream', ...(lastId !== '' && { 'last-event-id': lastId }) }
    try {
      const signal = AbortSignal.any([controller.signal, silence.signal])
      const response = await fetch(url, { headers, signal })
      if (response.status === 401) isSignedIn.value = false
      if (response.status !== 200 || response.body === null) throw new Error(String(response.status))
      failures = 0
      downSince = null
      onState(null)
      await readBlocks(response.body, (events) => {
        silence.restart()
        lastId = events.at(-1)?.id ?? lastId
        if (events.length > 0) onEvents(events)
      })
    } finally {
      silence.stop()
    }
  }

  async function run(): Promise<void> {
    while (!controller.signal.aborted && isSignedIn.value !== false) {
      const hasEnded = await readOnce().then(
        () => true,
        () => false,
      )
      if (controller.signal.aborted) return
      // The service ends a stream when its token expires; the next one has a new token.
      if (!hasEnded) failures++
      if (failures > 0) onState((downSince ??= new Date()))
      await new Promise((resolve) => setTimeout(resolve, WAIT_MS[Math.min(failures, WAIT_MS.length - 1)]))
    }
  }

  void run()
  return () => controller.abort()
}

async function readBlocks(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  onBlocks: (events: readonly StreamEvent[]) => void,
): Promise<void> {
  let rest = ''
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + chunk).split('\n\n')
    rest = blocks.pop() ?? ''
    onBlocks(blocks.flatMap(toEvent))
  }
}

/** Aborts its signal if it is not restarted in time. */
function createTimeout(ms: number) {
  const controller = new AbortController()
  const start = () => setTimeout(() => controller.abort(), ms)
  let timer = start()
  return {
    signal: controller.signal,
    restart(): void {
      clearTimeout(timer)
      timer = start()
    },
    stop: (): void => clearTimeout(timer),
  }
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
