/** Governance: what the organisation asks of its APIs, and how documents pass it. */

import { NotFoundPage } from '../../parts/states.tsx'
import { Page } from '../../parts/page.tsx'
import { BASE, segment } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { Adrs } from './adrs.tsx'
import './governance.css'
import { TenantPolicy } from './policy.tsx'
import { Principles } from './principles.tsx'
import { Programmes } from './programmes.tsx'
import { Rulesets } from './rulesets.tsx'

const words = texts.governance
const PARTS = [
  { name: 'programmes', scope: 'programmes:read' },
  { name: 'rulesets', scope: 'policy:read' },
  { name: 'adrs', scope: 'adrs:read' },
  { name: 'principles', scope: 'principles:read' },
  { name: 'policy', scope: 'policy:read' },
] as const

export function Governance() {
  const id = segment(2)
  switch (segment(1)) {
    case '':
      return <Contents />
    case 'programmes':
      return <Programmes id={id} />
    case 'rulesets':
      return <Rulesets id={id} />
    case 'adrs':
      return <Adrs id={id} />
    case 'principles':
      return <Principles id={id} />
    case 'policy':
      return <TenantPolicy />
    default:
      return <NotFoundPage />
  }
}

function Contents() {
  return (
    <Page title={words.title}>
      <ul class="cards">
        {PARTS.filter(({ scope }) => may(scope)).map(({ name }) => (
          <li key={name}>
            <a href={`${BASE}governance/${name}`}>{words.parts[name]}</a>
            <p class="quiet">{words.leads[name]}</p>
          </li>
        ))}
      </ul>
    </Page>
  )
}
