/** Usage: summaries, line items and statements. */

import { path } from '../../router.ts'
import { NotFoundPage } from '../../parts/states.tsx'
import { LineItems } from './line-items.tsx'
import { Statements } from './statements.tsx'
import { Summaries } from './summaries.tsx'
import './usage.css'

export function Usage() {
  const [, view = '', ...others] = path.value.split('/')
  if (others.length > 0) return <NotFoundPage />
  if (view === '') return <Summaries />
  if (view === 'items') return <LineItems />
  return view === 'statements' ? <Statements /> : <NotFoundPage />
}
