/** The open episodes, as the stream changes them. Many events cost one rendering per frame. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { read, toUrl, type Problem } from '../../api/client.ts'
import { openStream } from '../../api/stream.ts'
import { followEpisodes } from './follow-episodes.ts'
import { LiveModel, type Found, type Shown } from './live-model.ts'

export interface LiveEpisodes extends Shown {
  readonly downSince: Date | null
  readonly problem: Problem | null
  /** Shows the episodes that wait. */
  readonly show: () => void
  /** Call it when the list is perhaps no longer held. */
  readonly refresh: () => void
}

const PAGE = '500'

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
    const close = followEpisodes({
      model,
      open: (handlers) => openStream(toUrl('/v1/events/subscribe', { query: { api } }), handlers),
      readOpen: () => readOpen(api),
      onChange: refresh,
      onState: setDownSince,
      onProblem: setProblem,
    })
    return () => {
      close()
      cancelAnimationFrame(frame.current)
      frame.current = 0
    }
  }, [model])
  return { ...shown, downSince, problem, show: () => setShown(model.all()), refresh }
}

/** The critical ones are read apart, because a page has the oldest episodes. */
async function readOpen(api: string): Promise<Found> {
  const [{ items, next }, critical] = await Promise.all([
    read('/v1/risks', { query: { api, limit: PAGE } }),
    read('/v1/risks', { query: { api, limit: PAGE, severity: 'Critical' } }),
  ])
  return { items: [...items, ...critical.items], isComplete: next === null }
}
