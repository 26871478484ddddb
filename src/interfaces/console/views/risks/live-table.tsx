/** The rows of the live list. A row is drawn again only if its episode has changed, or to age its times. */

import { Component } from 'preact'
import { RiskTitle } from '../../parts/codes.tsx'
import { toWho } from '../../parts/attribution.tsx'
import { Severity, State, Time, toNumber } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { texts } from '../../texts.ts'
import type { LiveRisk } from './live-model.ts'
import { addressOf } from './party.ts'

const { columns, title, muted, cleared } = texts.risks
const TITLES = [columns.type, columns.severity, columns.who, columns.api, columns.count, columns.first, columns.last]

interface LiveTableProps {
  readonly rows: readonly LiveRisk[]
  readonly isMuted: (risk: LiveRisk) => boolean
  /** Changes when times are to be shown anew. */
  readonly tick: number
}

export function LiveTable({ rows, isMuted, tick }: LiveTableProps) {
  return (
    <div class="table live" role="region" aria-label={title} tabIndex={0}>
      <table>
        <caption class="hidden">{title}</caption>
        <thead>
          <tr>
            {TITLES.map((each) => (
              <th key={each} scope="col" class={each === columns.count ? 'number' : ''}>
                {each}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((risk) => (
            <LiveRow key={risk.riskId} risk={risk} isMuted={isMuted(risk)} tick={tick} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface LiveRowProps {
  readonly risk: LiveRisk
  readonly isMuted: boolean
  readonly tick: number
}

class LiveRow extends Component<LiveRowProps> {
  override shouldComponentUpdate(next: LiveRowProps): boolean {
    const { risk, isMuted, tick } = this.props
    return next.risk !== risk || next.isMuted !== isMuted || next.tick !== tick
  }

  override render({ risk, isMuted }: LiveRowProps) {
    const { riskId, type, severity, api, evidence, firstSeen, lastSeen, phase } = risk
    return (
      <tr class={isMuted || phase === 'cleared' ? 'dim' : ''}>
        <th scope="row">
          <a href={BASE + addressOf(riskId)}>
            <RiskTitle of={type} />
          </a>{' '}
          {isMuted && <State of={muted} />}
          {phase === 'cleared' && <State of={cleared} />}
        </th>
        <td data-label={columns.severity}>
          <Severity of={severity} />
        </td>
        <td data-label={columns.who}>{toWho(risk)}</td>
        <td data-label={columns.api}>
          <code>{api}</code>
        </td>
        <td data-label={columns.count} class="number">
          {toNumber(evidence.total)}
        </td>
        <td data-label={columns.first}>
          <Time at={firstSeen} />
        </td>
        <td data-label={columns.last}>
          <Time at={lastSeen} />
        </td>
      </tr>
    )
  }
}
