/** The sections at the left. Those of the second level show below the section that is open. */

import { BASE, path } from '../router.ts'
import { texts } from '../texts.ts'
import { scopes } from './person.ts'
import { maySee, SECTIONS, type Section } from './sections.tsx'

export function Navigation({ current }: { readonly current: Section | undefined }) {
  return (
    <nav class="sections" aria-label={texts.navigation.label}>
      <ul>
        {SECTIONS.filter((each) => maySee(each, scopes.value)).map((section) => (
          <Entry key={section.path} section={section} isCurrent={section === current} />
        ))}
      </ul>
    </nav>
  )
}

function Entry({ section, isCurrent }: { readonly section: Section; readonly isCurrent: boolean }) {
  const { path: to, title, key, children = [], preload } = section
  const shown = isCurrent ? children.filter((each) => maySee(each, scopes.value)) : []
  const open = shown.filter((each) => isBelow(path.value, each.path)).sort(byDepth)[0]
  return (
    <li>
      <a
        href={BASE + to}
        aria-current={isCurrent && open === undefined ? 'page' : undefined}
        data-open={isCurrent}
        aria-keyshortcuts={`g ${key}`}
        onPointerEnter={preload}
        onFocus={preload}
      >
        {title}
      </a>
      {shown.length > 0 && (
        <ul>
          {shown.map((each) => (
            <li key={each.path}>
              <a href={BASE + each.path} aria-current={each === open ? 'page' : undefined}>
                {each.title}
              </a>
            </li>
          ))}
        </ul>
      )}
    </li>
  )
}

function isBelow(address: string, base: string): boolean {
  return address === base || address.startsWith(`${base}/`)
}

/** The longest path first: that of a subsection may begin with the path of its section. */
function byDepth(one: { readonly path: string }, other: { readonly path: string }): number {
  return other.path.length - one.path.length
}
