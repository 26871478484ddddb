/** Risks: live, all episodes, one episode with what can be done about it, and mutes. */

import { segment } from '../../router.ts'
import { Episode } from './episode.tsx'
import { Episodes } from './episodes.tsx'
import { Live } from './live.tsx'
import { Mutes } from './mutes.tsx'
import './risks.css'

export function Risks() {
  const page = segment(1)
  if (page === '') return <Live />
  if (page === 'episodes') return <Episodes />
  if (page === 'mutes') return <Mutes />
  return <Episode key={page} riskId={page} />
}
