/**
 * Keeps the open episodes up to date: the list of those that are open, and the events after it.
 *
 * The list is read whenever the stream opens, so that no event before that is missed, and without it if that takes long.
 */

import { CallRefused, type Problem } from '../../api/client.ts'
import type { StreamHandlers } from '../../api/stream.ts'
import type { Found, LiveModel, LiveRisk } from './live-model.ts'

export interface FollowOptions {
  readonly model: LiveModel
  readonly open: (handlers: StreamHandlers) => () => void
  /** Throws `CallRefused`. */
  readonly readOpen: () => Promise<Found>
  readonly onChange: () => void
  readonly onState: (downSince: Date | null) => void
  /** Null: the last read succeeded. */
  readonly onProblem: (problem: Problem | null) => void
}

const STREAM_MS_MAX = 1_000
const RETRY_MS = 5_000
const FORBIDDEN = 403

/** Follows until the function that it returns is called. */
export function followEpisodes({ model, open, readOpen, onChange, onState, onProblem }: FollowOptions): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isClosed = false
  let loads = 0
  async function load(): Promise<void> {
    clearTimeout(timer)
    const number = ++loads
    const isOver = (): boolean => isClosed || number !== loads
    model.beginLoad()
    try {
      const found = await readOpen()
      if (isOver()) return
      onProblem(null)
      model.endLoad(found)
      onChange()
    } catch (cause) {
      if (!(cause instanceof CallRefused)) throw cause
      if (isOver()) return
      onProblem(cause.problem)
      if (cause.problem.status !== FORBIDDEN) timer = setTimeout(load, RETRY_MS)
    }
  }
  const close = open({
    onEvents(events) {
      model.apply(events.map(({ data }) => JSON.parse(data) as LiveRisk))
      onChange()
    },
    onState(since) {
      onState(since)
      // Without a stream the list is better than nothing.
      if (since === null || loads === 0) void load()
    },
  })
  timer ??= setTimeout(load, STREAM_MS_MAX)
  return () => {
    isClosed = true
    close()
    clearTimeout(timer)
  }
}
