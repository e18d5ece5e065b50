/* Level-Based Foraging in C, doing per step what the batch does: random legal actions, the rules,
   rewards, returns, everybody's observation and mask, and the next-step auto-reset. The 8x8 grid
   of grid/Foraging-v0 with four players who see two cells around them. For comparison only.
   cc -O3 -march=native -shared -fPIC foraging.c */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 8, PLAYERS = 4, FOODS = 3, SIGHT = 2, MAX_LEVEL = 2, MAX_STEPS = 50, TRIES = 1000 };
enum { STAY, NORTH, SOUTH, WEST, EAST, LOAD, ACTIONS };
enum { VIEW = 3 * FOODS + 3 * PLAYERS };

typedef struct {
  int32_t row[PLAYERS], column[PLAYERS], level[PLAYERS];
  int32_t food_row[FOODS], food_column[FOODS], food_level[FOODS], laid_out, turn;
  uint64_t random;
  int64_t actions[PLAYERS], noise, length;
  double earned[PLAYERS], rewards[PLAYERS], returns[PLAYERS];
  uint8_t over, truncated, terminations[PLAYERS], truncations[PLAYERS];
  int8_t mask[PLAYERS][ACTIONS];
  float sights[PLAYERS][VIEW];
} Game;

static const int DOWN[ACTIONS] = {0, -1, 1, 0, 0, 0}, RIGHT[ACTIONS] = {0, 0, 0, -1, 1, 0};

static int below(Game *g, int n) { /* splitmix64 */
  uint64_t z = (g->random += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return (int)(((z >> 32) * (uint64_t)n) >> 32);
}

static int near(int a, int b) { return abs(a - b) <= SIGHT; }

static int beside(const Game *g, int player, int food) {
  int far = abs(g->food_row[food] - g->row[player]) + abs(g->food_column[food] - g->column[player]);
  return g->food_level[food] > 0 && far == 1;
}

static void allow(const Game *g, int player, int8_t *mask) {
  int row = g->row[player], column = g->column[player];
  mask[STAY] = 1, mask[LOAD] = 0;
  mask[NORTH] = row > 0, mask[SOUTH] = row < SIDE - 1;
  mask[WEST] = column > 0, mask[EAST] = column < SIDE - 1;
  for (int food = 0; food < FOODS; food++)
    if (beside(g, player, food)) {
      mask[LOAD] = 1;
      if (g->food_row[food] != row) mask[g->food_row[food] < row ? NORTH : SOUTH] = 0;
      else mask[g->food_column[food] < column ? WEST : EAST] = 0;
    }
}

static void show(float *view, int row, int column, int level) {
  view[0] = (float)row, view[1] = (float)column, view[2] = (float)level;
}

static void sense(const Game *g, int player, float *view) {
  int row = g->row[player], column = g->column[player], count = 0;
  int top = row > SIGHT ? row - SIGHT : 0, left = column > SIGHT ? column - SIGHT : 0;
  for (int slot = 0; slot < FOODS + PLAYERS; slot++) show(view + 3 * slot, -1, -1, 0);
  for (int food = 0; food < FOODS; food++) {
    int r = g->food_row[food], c = g->food_column[food];
    if (g->food_level[food] > 0 && near(r, row) && near(c, column))
      show(view + 3 * count++, r - top, c - left, g->food_level[food]);
  }
  show(view + 3 * FOODS, row - top, column - left, g->level[player]);
  count = FOODS + 1;
  for (int other = 0; other < PLAYERS; other++) {
    int r = g->row[other], c = g->column[other];
    if (other != player && near(r, row) && near(c, column))
      show(view + 3 * count++, r - top, c - left, g->level[other]);
  }
}

static void see(Game *g) {
  for (int player = 0; player < PLAYERS; player++) {
    if (g->over) memset(g->mask[player], 1, ACTIONS);
    else allow(g, player, g->mask[player]);
    sense(g, player, g->sights[player]);
    g->terminations[player] = g->over && !g->truncated;
    g->truncations[player] = g->truncated;
  }
}

static int room(const Game *g, int row, int column) {
  for (int p = 0; p < PLAYERS; p++)
    if (g->row[p] == row && g->column[p] == column) return 0;
  for (int f = 0; f < FOODS; f++) {
    int down = abs(g->food_row[f] - row), right = abs(g->food_column[f] - column);
    if (g->food_level[f] == 0) continue;
    if ((down <= 1 && right <= 1) || (down + right == 2 && down * right == 0)) return 0;
  }
  return 1;
}

static void lay_out(Game *g, int at, int row, int column, int level) {
  for (; at > 0; at--) {
    int r = g->food_row[at - 1], c = g->food_column[at - 1];
    if (r < row || (r == row && c < column)) break;
    g->food_row[at] = r, g->food_column[at] = c, g->food_level[at] = g->food_level[at - 1];
  }
  g->food_row[at] = row, g->food_column[at] = column, g->food_level[at] = level;
  g->laid_out += level;
}

static void begin(Game *g) {
  int64_t noise = g->noise;
  uint64_t random = g->random;
  memset(g, 0, sizeof *g);
  g->noise = noise, g->random = random;
  for (int p = 0; p < PLAYERS; p++) {
    int placed = 0;
    while (!placed) {
      g->row[p] = below(g, SIDE), g->column[p] = below(g, SIDE);
      placed = 1;
      for (int other = 0; other < p; other++)
        placed &= g->row[other] != g->row[p] || g->column[other] != g->column[p];
    }
    g->level[p] = 1 + below(g, MAX_LEVEL);
  }
  int high = 0, counted = 0; /* the sum of the three lowest levels */
  for (int level = 1; level <= MAX_LEVEL; level++)
    for (int p = 0; p < PLAYERS; p++)
      if (g->level[p] == level && counted < 3) high += level, counted++;
  int count = 0;
  for (int i = 0; i < TRIES && count < FOODS; i++) {
    int row = 1 + below(g, SIDE - 2), column = 1 + below(g, SIDE - 2);
    if (room(g, row, column)) lay_out(g, count++, row, column, 1 + below(g, high));
  }
  see(g);
}

static void move(Game *g) {
  int row[PLAYERS], column[PLAYERS], free[PLAYERS];
  for (int p = 0; p < PLAYERS; p++) {
    row[p] = g->row[p] + DOWN[g->actions[p]];
    column[p] = g->column[p] + RIGHT[g->actions[p]];
  }
  for (int p = 0; p < PLAYERS; p++) {
    free[p] = 1;
    for (int other = 0; other < PLAYERS; other++)
      free[p] &= other == p || row[other] != row[p] || column[other] != column[p];
  }
  for (int p = 0; p < PLAYERS; p++) {
    g->row[p] = free[p] ? row[p] : g->row[p];
    g->column[p] = free[p] ? column[p] : g->column[p];
  }
}

static void load(Game *g, int food) {
  int strength = 0, level = g->food_level[food];
  for (int p = 0; p < PLAYERS; p++)
    if (g->actions[p] == LOAD && beside(g, p, food)) strength += g->level[p];
  if (strength == 0 || strength < level) return;
  for (int p = 0; p < PLAYERS; p++)
    if (g->actions[p] == LOAD && beside(g, p, food))
      g->rewards[p] = (double)g->level[p] * level / ((double)strength * g->laid_out);
  g->food_row[food] = g->food_column[food] = g->food_level[food] = 0;
}

static void play(Game *g) {
  for (int p = 0; p < PLAYERS; p++) {
    if (g->actions[p] < 0 || g->actions[p] >= ACTIONS || !g->mask[p][g->actions[p]]) abort();
    g->rewards[p] = 0.0;
  }
  move(g);
  int left = 0;
  for (int food = 0; food < FOODS; food++) {
    load(g, food);
    left += g->food_level[food] > 0;
  }
  for (int p = 0; p < PLAYERS; p++) g->earned[p] += g->rewards[p], g->returns[p] += g->rewards[p];
  g->truncated = left > 0 && g->turn + 1 >= MAX_STEPS;
  g->over = left == 0 || g->truncated;
  g->turn++;
  g->length++;
  see(g);
}

static int pick(Game *g, const int8_t *mask) {
  int legal = 0, chosen = 0;
  for (int a = 0; a < ACTIONS; a++) legal += mask[a];
  g->noise = (g->noise * 1103515245 + 12345) & 0x7FFFFFFF;
  int64_t skip = ((g->noise >> 8) * legal) >> 23;
  for (int a = 0; a < ACTIONS; a++) {
    chosen = mask[a] && skip == 0 ? a : chosen;
    skip -= mask[a];
  }
  return chosen;
}

int64_t game_size(void) { return sizeof(Game); }

void start(Game *games, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    games[i].noise = (i * 2654435761 + 97) & 0x7FFFFFFF;
    games[i].random = (uint64_t)i;
    begin(&games[i]);
  }
}

void random_actions(Game *games, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    for (int p = 0; p < PLAYERS; p++)
      if (!games[i].over) games[i].actions[p] = pick(&games[i], games[i].mask[p]);
}

void step(Game *games, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    if (games[i].over) begin(&games[i]);
    else play(&games[i]);
  }
}
