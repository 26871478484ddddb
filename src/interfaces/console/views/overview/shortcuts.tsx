/** One click from here: what operators, security teams, publishers and the people of a consumer open most. */

import { BASE } from '../../router.ts'
import { may, scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'

const { links, shortcuts } = texts.overview

interface Shortcut {
  readonly title: string
  readonly path: string
  readonly isShown: () => boolean
}

const isWide = (scope: string): boolean => scopes.value.has(scope)
const isOwn = (scope: string): boolean => !isWide(scope) && scopes.value.has(`${scope}:own`)

const SHORTCUTS: readonly Shortcut[] = [
  { title: links.live, path: 'risks', isShown: () => may('risks:read') },
  { title: links.episodes, path: 'risks/episodes?severity=Critical', isShown: () => may('risks:read') },
  { title: links.usage, path: 'usage?range=month', isShown: () => may('usage:read') },
  { title: links.health, path: 'settings/health', isShown: () => isWide('health:read') },
  { title: links.apis, path: 'apis', isShown: () => may('apis:read') },
  { title: links.staged, path: 'apis/staged', isShown: () => isWide('proxies:read') },
  { title: links.prospects, path: 'apis?state=Prospect', isShown: () => isWide('proxies:write') },
  { title: links.approvals, path: 'approvals', isShown: () => may('approvals:read') },
  { title: links.deprecated, path: 'apis?state=Deprecated', isShown: () => isWide('apis:read') },
  { title: links.keys, path: 'keys', isShown: () => isOwn('credentials:read') },
  { title: links.statement, path: 'usage/statements', isShown: () => isOwn('usage:read') },
]

export function Shortcuts() {
  const shown = SHORTCUTS.filter(({ isShown }) => isShown())
  if (shown.length === 0) return null
  return (
    <nav class="shortcuts" aria-label={shortcuts}>
      <ul>
        {shown.map(({ title, path }) => (
          <li key={path}>
            <a href={BASE + path}>{title}</a>
          </li>
        ))}
      </ul>
    </nav>
  )
}
