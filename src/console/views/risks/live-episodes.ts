/** The open episodes, as the stream changes them. Many events cost one rendering per frame. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { CallRefused, read, toUrl, type Problem } from '../../api/client.ts'
import { openStream } from '../../api/stream.ts'
import { LiveModel, type Found, type LiveRisk, type Shown } from './live-model.ts'

export interface LiveEpisodes extends Shown {
  readonly downSince: Date | null
  readonly problem: Problem | null
  /** Shows the episodes that wait. */
  readonly show: () => void
  /** Call it when the list is perhaps no longer held. */
  readonly refresh: () => void
}

const PAGE = '500'
const RETRY_MS = 5_000
const FORBIDDEN = 403

/** Rows change in place. While `isHeld`, new episodes wait and cleared ones stay, so that nothing moves. */
export function useLiveEpisodes(api: string, isHeld: () => boolean): LiveEpisodes {
  const model = useMemo(() => new LiveModel(), [api])
  const [shown, setShown] = useState<Shown>({ rows: null, waiting: [] })
  const [downSince, setDownSince] = useState<Date | null>(null)
  const [problem, setProblem] = useState<Problem | null>(null)
  const frame = useRef(0)

  const refresh = (): void => {
    frame.current ||= requestAnimationFrame(() => {
      frame.current = 0
      setShown(isHeld() ? model.held() : model.all())
    })
  }
  useEffect(() => {
    const close = follow(model, api, { onChange: refresh, onState: setDownSince, onProblem: setProblem })
    return () => {
      close()
      cancelAnimationFrame(frame.current)
      frame.current = 0
    }
  }, [model])
  return { ...shown, downSince, problem, show: () => setShown(model.all()), refresh }
}

interface Followers {
  readonly onChange: () => void
  readonly onState: (downSince: Date | null) => void
  /** Null: the last read succeeded. */
  readonly onProblem: (problem: Problem | null) => void
}

/** Keeps the model up to date, until the function that it returns is called. */
function follow(model: LiveModel, api: string, { onChange, onState, onProblem }: Followers): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isClosed = false
  let wasDown = false
  async function load(): Promise<void> {
    model.beginLoad()
    try {
      const found = await readOpen(api)
      if (isClosed) return
      onProblem(null)
      model.endLoad(found)
      onChange()
    } catch (cause) {
      if (!(cause instanceof CallRefused)) throw cause
      if (isClosed) return
      onProblem(cause.problem)
      if (cause.problem.status !== FORBIDDEN) timer = setTimeout(load, RETRY_MS)
    }
  }
  // The stream begins first, so that no event between it and the list is missed.
  const close = openStream(toUrl('/v1/events/subscribe', { query: { api } }), {
    onEvents(events) {
      model.apply(events.map(({ data }) => JSON.parse(data) as LiveRisk))
      onChange()
    },
    onState(since) {
      onState(since)
      if (wasDown && since === null) void load()
      wasDown = since !== null
    },
  })
  void load()
  return () => {
    isClosed = true
    close()
    clearTimeout(timer)
  }
}

/** The critical ones are read apart, because a page has the oldest episodes. */
async function readOpen(api: string): Promise<Found> {
  const [{ items, next }, critical] = await Promise.all([
    read('/v1/risks', { query: { api, limit: PAGE } }),
    read('/v1/risks', { query: { api, limit: PAGE, severity: 'Critical' } }),
  ])
  return { items: [...items, ...critical.items], isComplete: next === null }
}
