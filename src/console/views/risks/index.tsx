/** Open risk episodes, live: changed rows come in place, and new ones wait while the pointer is on the list. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { read, toUrl } from '../../api/client.ts'
import type { Item } from '../../api/operations.ts'
import { openStream, type StreamEvent } from '../../api/stream.ts'
import { Empty } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'
import { Severity, Time, toNumber } from '../../parts/values.tsx'
import { toWho } from '../../parts/attribution.tsx'
import { BASE, path } from '../../router.ts'
import { Page } from '../../parts/page.tsx'
import { texts } from '../../texts.ts'
import { Episode } from './episode.tsx'

type Risk = Item<'/v1/risks'>
/** The stream sends events of episodes; `id` is that of the event there. */
type RiskEvent = Omit<Risk, 'state'>

const { columns, title, none, waiting } = texts.risks
const EPISODES_MAX = 500

export function Risks() {
  const riskId = path.value.split('/')[1] ?? ''
  return riskId === '' ? <Live /> : <Episode riskId={decodeURIComponent(riskId)} />
}

function Live() {
  const { episodes, fresh, downSince, show, hold } = useEpisodes()
  return (
    <Page title={title}>
      {downSince !== null && (
        <p class="stale" role="status">
          {texts.states.stale(downSince.toLocaleTimeString())}
        </p>
      )}
      {fresh > 0 && (
        <p>
          <button type="button" onClick={show}>
            {waiting(fresh)}
          </button>
        </p>
      )}
      {episodes !== null && episodes.length === 0 && <Empty text={none} commands={['tollgate risks tail']} />}
      {episodes !== null && episodes.length > 0 && (
        <div onPointerEnter={() => hold(true)} onPointerLeave={() => hold(false)}>
          <Table
            caption={title}
            keyOf={({ riskId }) => riskId}
            rows={episodes}
            columns={[
              { title: columns.type, cell: toLink },
              { title: columns.severity, cell: ({ severity }) => <Severity of={severity} /> },
              { title: columns.who, cell: toWho },
              { title: columns.api, cell: ({ api }) => <code>{api}</code> },
              { title: columns.count, isNumber: true, cell: ({ evidence }) => toNumber(evidence.total) },
              { title: columns.last, cell: ({ lastSeen }) => <Time at={lastSeen} /> },
            ]}
          />
        </div>
      )}
    </Page>
  )
}

function toLink({ riskId, type }: RiskEvent) {
  return <a href={`${BASE}risks/${encodeURIComponent(riskId)}`}>{type}</a>
}

interface Episodes {
  readonly episodes: readonly RiskEvent[] | null
  /** Episodes that wait until they are shown. */
  readonly fresh: number
  readonly downSince: Date | null
  readonly show: () => void
  readonly hold: (isHeld: boolean) => void
}

/** Events are applied once per frame, so that many of them cost one rendering. */
function useEpisodes(): Episodes {
  const known = useRef(new Map<string, RiskEvent>())
  const held = useRef(false)
  const [shown, setShown] = useState<readonly RiskEvent[] | null>(null)
  const [fresh, setFresh] = useState(0)
  const [downSince, setDownSince] = useState<Date | null>(null)

  const showAll = (): void => {
    setFresh(0)
    setShown(newestFirst(known.current.values()))
  }

  useEffect(() => {
    let frame = 0
    const update = (): void => {
      frame = 0
      if (!held.current) return showAll()
      setShown((before) => (before ?? []).map((each) => known.current.get(each.riskId) ?? each))
      setFresh(known.current.size)
    }
    const apply = (events: readonly StreamEvent[]): void => {
      for (const { data } of events) {
        const event = JSON.parse(data) as RiskEvent
        if (event.phase === 'cleared') known.current.delete(event.riskId)
        else known.current.set(event.riskId, event)
      }
      frame ||= requestAnimationFrame(update)
    }
    // The stream begins first, so that no event between it and the list is missed.
    const close = openStream(toUrl('/v1/events/subscribe', {}), { onEvents: apply, onState: setDownSince })
    void read('/v1/risks', { query: { limit: String(EPISODES_MAX) } }).then(({ items }) => {
      for (const risk of items) {
        const riskId = risk.riskId ?? risk.id
        if (!known.current.has(riskId)) known.current.set(riskId, { ...risk, riskId })
      }
      showAll()
    })
    return () => {
      close()
      cancelAnimationFrame(frame)
    }
  }, [])

  const hold = (isHeld: boolean): void => {
    held.current = isHeld
    if (!isHeld) showAll()
  }
  return { episodes: shown, fresh: Math.max(0, fresh - (shown?.length ?? 0)), downSince, show: showAll, hold }
}

function newestFirst(events: Iterable<RiskEvent>): readonly RiskEvent[] {
  return [...events].sort((one, other) => Date.parse(other.lastSeen) - Date.parse(one.lastSeen)).slice(0, EPISODES_MAX)
}
