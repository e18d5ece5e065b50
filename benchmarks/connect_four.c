/* Connect Four in C, doing per step what the batch does: a random legal move, the rules, rewards,
   returns, both seats' observations and masks, and the next-step auto-reset. For comparison only.
   cc -O3 -march=native -shared -fPIC connect_four.c */

#include <stdint.h>
#include <string.h>

enum { ROWS = 6, COLUMNS = 7, LINE = 4, CELLS = ROWS * COLUMNS };

typedef struct {
  int8_t board[ROWS][COLUMNS], heights[COLUMNS];
  uint8_t acting[2], result[2], over;
  int32_t turn;
  int64_t actions[2], noise, length;
  double rewards[2], returns[2];
  int8_t mask[2][COLUMNS], sights[2][2][ROWS][COLUMNS];
} Game;

static const int RISE[4] = {0, 1, 1, 1}, RUN[4] = {1, 0, 1, -1};

static int completes_line(const Game *g, int row, int column) {
  int8_t mark = g->board[row][column];
  for (int d = 0; d < 4; d++) {
    int length = 1;
    for (int sign = 1; sign >= -1; sign -= 2) {
      int r = row + sign * RISE[d], c = column + sign * RUN[d];
      while (r >= 0 && r < ROWS && c >= 0 && c < COLUMNS && g->board[r][c] == mark) {
        length++;
        r += sign * RISE[d];
        c += sign * RUN[d];
      }
    }
    if (length >= LINE) return 1;
  }
  return 0;
}

static void see(Game *g) {
  for (int player = 0; player < 2; player++) {
    for (int column = 0; column < COLUMNS; column++)
      g->mask[player][column] = g->acting[player] ? g->heights[column] < ROWS : 1;
    for (int row = 0; row < ROWS; row++)
      for (int column = 0; column < COLUMNS; column++) {
        g->sights[player][0][row][column] = g->board[row][column] == player + 1;
        g->sights[player][1][row][column] = g->board[row][column] == 2 - player;
      }
  }
}

static void begin(Game *g) {
  int64_t noise = g->noise;
  memset(g, 0, sizeof *g);
  g->noise = noise;
  g->acting[0] = 1;
  see(g);
}

static int pick(Game *g, const int8_t *mask) {
  int legal = 0, chosen = 0;
  for (int a = 0; a < COLUMNS; a++) legal += mask[a];
  g->noise = (g->noise * 1103515245 + 12345) & 0x7FFFFFFF;
  int64_t skip = ((g->noise >> 8) * legal) >> 23;
  for (int a = 0; a < COLUMNS; a++) {
    chosen = mask[a] && skip == 0 ? a : chosen;
    skip -= mask[a];
  }
  return chosen;
}

static void move(Game *g) {
  int player = g->acting[0] ? 0 : 1, column = (int)g->actions[player], row = g->heights[column];
  g->rewards[0] = g->rewards[1] = 0.0;
  g->board[row][column] = player + 1;
  g->heights[column]++;
  if (completes_line(g, row, column)) {
    g->rewards[player] = 1.0;
    g->rewards[1 - player] = -1.0;
    g->result[player] = 1;
    g->result[1 - player] = 3;
    g->over = 1;
  } else if (g->turn + 1 == CELLS) {
    g->result[0] = g->result[1] = 2;
    g->over = 1;
  }
  g->acting[player] = 0;
  g->acting[1 - player] = !g->over;
  g->turn++;
  g->length++;
  for (int p = 0; p < 2; p++) g->returns[p] += g->rewards[p];
  see(g);
}

int64_t game_size(void) { return sizeof(Game); }

void start(Game *games, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    games[i].noise = (i * 2654435761 + 97) & 0x7FFFFFFF;
    begin(&games[i]);
  }
}

void random_actions(Game *games, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    for (int player = 0; player < 2; player++)
      if (games[i].acting[player])
        games[i].actions[player] = pick(&games[i], games[i].mask[player]);
}

void step(Game *games, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    if (games[i].over)
      begin(&games[i]);
    else
      move(&games[i]);
  }
}
